"""The audit export, `tallystick-export/1`: stored events with their proofs, in a folder or a ZIP.

|file|when|what|
|-|-|-|
|`events.ndjson`, `.csv`, `.parquet`, `.gz`|always|the events, in order of position|
|`leaves`|always|each event's leaf hash, 32 bytes, in the same order; not trusted, it only shows which line is wrong|
|`proofs.ndjson`|with a filter|each event's inclusion proof in the tree of the checkpoint|
|`checkpoint`|always|the signed note|
|`checkpoint.earlier`|with a filter|a note published before it, if one exists; the manifest proves the continuation|
|`evidence/DIGEST`|on request|the evidence that events name by digest|
|`README.md`|always|how to verify the export without Tallystick|
|`manifest.json`|always, last|the filters, counts, and the SHA-256 of each file|

An export without a filter is *complete*: it has positions 1 to the checkpoint's size, so that the root can be computed
from the lines alone. With a filter, each event has a proof instead, because other events are left out. A ZIP is written
as a stream: file after file, each followed by its size and checksum.
"""

from api.export.export import Export, open_export
from api.export.manifest import Manifest
from api.export.output_path import write_export
from api.export.selection import ExportSelection, parse_selection
from api.export.targets import ZipTarget

__all__ = ["Export", "ExportSelection", "Manifest", "ZipTarget", "open_export", "parse_selection", "write_export"]
