from __future__ import annotations

import sys
from pathlib import Path

# The hand-made sample stands beside the tests; the folder is no package.
sys.path.insert(0, str(Path(__file__).parent))
