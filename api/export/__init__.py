"""The audit export, `tallystick-export/1`: events as they are stored, and what proves them, in a folder or a ZIP.

|file|when|what|
|-|-|-|
|`events.ndjson`, `.csv`, `.parquet`, `.gz`|always|the events, in order of position|
|`leaves`|always|the hash of each one's leaf, 32 bytes, in that order; nobody trusts it, it locates a wrong line|
|`proofs.ndjson`|with a filter|the inclusion proof of each one in the tree of the checkpoint|
|`checkpoint`|always|the signed note|
|`checkpoint.earlier`|with a filter|a note published before it, where one is kept, and continued by it|
|`evidence/DIGEST`|where asked for|what events name by digest, as it was put|
|`README.md`|always|how to verify all of it without us|
|`manifest.json`|always, last|what was asked for, counts, and the SHA-256 of each file|

Without a filter an export is *complete*: positions 1 to the checkpoint's size, so that the root is worked out from the
lines alone. With one, proofs take the place of the events that are not there. In a ZIP, files are stored one after the
other, with sizes and checksums behind each, so that it is streamed.
"""

from api.export.export import Export, opened
from api.export.manifest import Manifest
from api.export.output_path import place
from api.export.selection import ExportSelection, selection_of
from api.export.targets import ZipTarget

__all__ = ["Export", "ExportSelection", "Manifest", "ZipTarget", "opened", "place", "selection_of"]
