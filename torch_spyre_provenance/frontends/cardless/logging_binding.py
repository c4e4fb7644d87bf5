"""Stand-in for ``torch_spyre._C._logging``: levels are kept, nothing is ever logged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum


class LogLevel(IntEnum):
    """Severity, numbered as Python's `logging` numbers it."""

    NOTSET = 0
    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40
    CRITICAL = 50


class LoggingConfig:
    """The levels of the C++ components, of which there are none here."""

    _instance: LoggingConfig | None = None

    def __init__(self) -> None:
        self._levels: dict[str, int] = {}

    @classmethod
    def instance(cls) -> LoggingConfig:
        """Return the one configuration of the process."""
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def initialize_from_python(
        self, config: Mapping[str, int] | Iterable[tuple[str, int]]
    ) -> None:
        """Take over the levels that torch-spyre's Python side has settled on."""
        self._levels = dict(config)

    def get_log_level(self, component: str) -> int:
        """Return a component's level, which may lie above all that have a name."""
        return self._levels.get(component, LogLevel.WARNING)

    def set_log_level(self, component: str, level: int) -> None:
        """Set a component's level."""
        self._levels[component] = level

    def is_enabled(self, component: str, level: int) -> bool:
        """Return whether a component would log at a level."""
        return level >= self.get_log_level(component)

    def get_components(self) -> list[str]:
        """Return the names of the components that have a level."""
        return sorted(self._levels)

    def set_log_file(self, path: str) -> None:
        """Name the file to log to; none is written."""


def log_level_to_string(level: int) -> str:
    """Return a level's name."""
    return LogLevel(level).name


def string_to_log_level(level_str: str) -> LogLevel:
    """Return the level of a name."""
    return LogLevel[level_str.upper()]
