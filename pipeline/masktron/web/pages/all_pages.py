"""Every page of a project, in the order of the way through it."""

from __future__ import annotations

from masktron.web.pages.choose_step import CHOOSE
from masktron.web.pages.data_step import DATA
from masktron.web.pages.hierarchy_view import HIERARCHY
from masktron.web.pages.history_view import HISTORY
from masktron.web.pages.mask_step import MASK
from masktron.web.pages.overview import OVERVIEW
from masktron.web.pages.protect_step import PROTECT
from masktron.web.pages.release_step import RELEASE
from masktron.web.pages.roles_step import ROLES_PAGE
from masktron.web.pages.rule_editor import RULE_EDITOR
from masktron.web.pages.rules_step import RULES_PAGE
from masktron.web.pages.run_view import RUN
from masktron.web.pages.suggested_rules import SUGGESTED
from masktron.web.pages.validate_step import VALIDATE
from masktron.web.web_page import WebPage

PAGES: tuple[WebPage, ...] = (
    OVERVIEW,
    DATA,
    RULES_PAGE,
    SUGGESTED,
    RULE_EDITOR,
    VALIDATE,
    ROLES_PAGE,
    PROTECT,
    HIERARCHY,
    CHOOSE,
    MASK,
    RELEASE,
    RUN,
    HISTORY,
)
