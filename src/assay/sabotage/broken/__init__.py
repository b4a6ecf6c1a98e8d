"""The broken models, one realistic bug each, in files by theme. Importing this package enters all of them in `BROKEN`.

Each model is the sound potential for Cu and Au with one change, so that nothing but the bug is wrong.
"""

from assay.sabotage.broken import forces, symmetry, surface, claims, state, machine  # noqa: F401, I001 - order of BROKEN
from assay.sabotage.broken import caches, ase_results  # noqa: F401 - order of BROKEN
