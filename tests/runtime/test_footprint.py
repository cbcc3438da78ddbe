"""What the daemon tells the C library of its memory."""

import platform
import subprocess
import sys

import pytest

_KB_OF_A_HEAP = 65_536
"""What glibc reserves for a heap of a thread's own."""
_GROWN = """
import threading
threading.stack_size(1 << 20)
from retaind.runtime.footprint import give_back, share_heap

def size_kb():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmSize"))

if {shared}:
    share_heap()
before = size_kb()
held = []
thread = threading.Thread(target=lambda: held.extend(bytes(5_000) for _ in range(100)))
thread.start()
thread.join()
print(size_kb() - before)
give_back()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has heaps of threads")
def test_threads_share_one_heap() -> None:
    grown = {}
    for shared in (False, True):
        script = _GROWN.format(shared=shared)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
        grown[shared] = int(done.stdout)

    assert grown[False] > _KB_OF_A_HEAP
    assert grown[True] < _KB_OF_A_HEAP
