"""The stand-in for the C++ logger's settings."""

from __future__ import annotations

import pytest

from torch_spyre_provenance.frontends.cardless.logging_binding import (
    LoggingConfig,
    LogLevel,
    log_level_to_string,
    string_to_log_level,
)


@pytest.mark.parametrize("config", [[("runtime", 10)], {"runtime": 10}])
def test_levels_come_from_python(config):
    """Levels are taken from pairs as well as from a mapping."""
    logging = LoggingConfig()
    logging.initialize_from_python(config)
    assert (["runtime"], 10) == (
        logging.get_components(),
        logging.get_log_level("runtime"),
    )


def test_a_component_is_enabled_from_its_level_on():
    """Messages below a component's level are off; an unknown one warns."""
    logging = LoggingConfig()
    logging.set_log_level("quiet", 60)
    logging.set_log_file("")
    levels = (LogLevel.INFO, LogLevel.WARNING, LogLevel.CRITICAL)
    enabled = [logging.is_enabled("other", level) for level in levels]
    assert [False, True, True] == enabled
    assert not logging.is_enabled("quiet", LogLevel.CRITICAL)


def test_there_is_one_configuration():
    """The process has one configuration."""
    assert LoggingConfig.instance() is LoggingConfig.instance()


@pytest.mark.parametrize("level", LogLevel)
def test_names_and_levels(level):
    """A level's name gives the level back."""
    assert level == string_to_log_level(log_level_to_string(level).lower())
