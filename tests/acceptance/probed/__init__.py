"""Real processes with the production compositions, which a test can kill at any named probe."""

import pytest

pytest.register_assert_rewrite("tests.acceptance.probed.verdict")
