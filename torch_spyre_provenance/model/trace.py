"""What is read of a profiler's trace: events with a beginning and a duration."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class TraceEvent:
    """One complete event of a Chrome trace, with what may lead to a kernel.

    Attributes:
        index: Its position in the trace's list of events.
        name: Its name.
        category: Its category (``cpu_op``, ``user_annotation``, ``kernel``), or "".
        start_ns: Its beginning in nanoseconds, on the trace's own clock.
        duration_ns: Its duration in nanoseconds.
        process: The process that it is drawn under, as text: the process's id for
            events of the host.
        thread: The thread that it is drawn under, as text.
        external_id: What ties an event of the device to the host's event that launched
            it, as text, or None.
        provenance_key: torch-spyre's key of the kernel's content, or None.
        handles: torch-spyre's `debug_handle` ids of the kernel's ops, as text.
        directory: Name or beginning of the name of the kernel's directory, or None.
    """

    index: int
    name: str
    category: str = ""
    start_ns: int
    duration_ns: int
    process: str = ""
    thread: str = ""
    external_id: str | None = None
    provenance_key: str | None = None
    handles: tuple[str, ...] = ()
    directory: str | None = None

    @property
    def end_ns(self) -> int:
        """Return its end in nanoseconds."""
        return self.start_ns + self.duration_ns


@frozen(kw_only=True)
class Trace:
    """The events of one trace.

    Attributes:
        events: Its complete events, in the order of the file.
        rank: Rank of the process in a distributed job, or None.
    """

    events: tuple[TraceEvent, ...]
    rank: int | None = None
