"""Time, memory and threads under one name; each subject has a module of its own beside this one."""

from __future__ import annotations

from anbexact._runtime.advice import advise, heard_once
from anbexact._runtime.deadline import (
    Deadline,
    ProcessorDeadline,
    abandonable,
    check_limit,
    interruptible,
    seconds_left,
)
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.progress import LONG_WAIT, Progress, default_progress, progress_line
from anbexact._runtime.tasks import one_blas_thread, run_tasks, thread_count
from anbexact._runtime.units import human_bytes, human_seconds

__all__ = [
    "LONG_WAIT",
    "Deadline",
    "ProcessorDeadline",
    "Progress",
    "SearchTooLargeError",
    "abandonable",
    "advise",
    "available_memory",
    "check_limit",
    "default_progress",
    "heard_once",
    "human_bytes",
    "human_seconds",
    "interruptible",
    "one_blas_thread",
    "progress_line",
    "run_tasks",
    "seconds_left",
    "thread_count",
]
