"""The audit export, `tallystick-export/1`: stored events with their proofs, in a folder or a ZIP.

|file|when|what|
|-|-|-|
|`events.ndjson`, `.csv`, `.parquet`, `.gz`|always|the events, in order of position|
|`leaves`|always|each event's leaf hash, 32 bytes, in that order; it is not trusted, it only locates a wrong line|
|`proofs.ndjson`|with a filter|each event's inclusion proof in the tree of the checkpoint|
|`checkpoint`|always|the signed note|
|`checkpoint.earlier`|with a filter|a note published before it, if there is one; the manifest proves the continuation|
|`evidence/DIGEST`|on request|the evidence that events name by digest|
|`README.md`|always|how to verify the export without Tallystick|
|`manifest.json`|always, last|the filters, counts, and the SHA-256 of each file|

Without a filter an export is *complete*: it has positions 1 to the checkpoint's size, so the root can be computed from
the lines alone. With a filter, proofs replace the events that were left out. A ZIP is streamed: files are stored one
after the other, each followed by its size and checksum.
"""

from api.export.export import Export, open_export
from api.export.manifest import Manifest
from api.export.output_path import write_export
from api.export.selection import ExportSelection, parse_selection
from api.export.targets import ZipTarget

__all__ = ["Export", "ExportSelection", "Manifest", "ZipTarget", "open_export", "parse_selection", "write_export"]
