from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

# The hand-made sample stands beside the tests; the folder is no package.
sys.path.insert(0, str(Path(__file__).parent))

# A busy machine is no defect: no test judges by the clock.
settings.register_profile("report", deadline=None)
settings.load_profile("report")
