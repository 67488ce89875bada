"""Selectors of what Streamlit draws: our style sheets and scripts name its parts `:st(name)`, and only this file knows more.

A test looks for each in the version of Streamlit that is pinned. What has a key of ours (`.st-key-…`) is no part of Streamlit's.
"""

import re

TEST_IDS = {
    "any-button": "stBaseButton", "app": "stApp", "app-view-container": "stAppViewContainer", "bottom": "stBottom",
    "bottom-block-container": "stBottomBlockContainer",
    "caption-container": "stCaptionContainer", "column": "stColumn", "element-container": "stElementContainer", "empty": "stEmpty",
    "expander": "stExpander", "expander-icon": "stExpanderIcon", "file-dropzone": "stFileUploaderDropzone",
    "file-dropzone-instructions": "stFileUploaderDropzoneInstructions", "header": "stHeader",
    "horizontal-block": "stHorizontalBlock", "icon-material": "stIconMaterial", "image": "stImage",
    "layout-wrapper": "stLayoutWrapper", "main": "stMain", "main-block-container": "stMainBlockContainer",
    "main-menu-button": "stMainMenuButton", "main-menu-popover": "stMainMenuPopover",
    "markdown-container": "stMarkdownContainer", "number-input": "stNumberInput", "page-link": "stPageLink-NavLink",
    "plotly-chart": "stPlotlyChart", "popover": "stPopover", "popover-body": "stPopoverBody",
    "primary-button": "stBaseButton-primary",
    "progress": "stProgress", "selectbox": "stSelectbox", "sidebar": "stSidebar",
    "sidebar-collapse-button": "stSidebarCollapseButton", "sidebar-content": "stSidebarContent",
    "sidebar-header": "stSidebarHeader", "sidebar-nav-items": "stSidebarNavItems", "sidebar-nav-link": "stSidebarNavLink",
    "sidebar-nav-separator": "stSidebarNavSeparator",
    "sidebar-user-content": "stSidebarUserContent", "skeleton": "stSkeleton",
    "slider": "stSlider", "slider-tick-bar": "stSliderTickBar", "spinner": "stSpinner", "status-widget": "stStatusWidget",
    "tab-panel": "stTabPanel",
    "theme-dark": "stMainMenuItem-theme-Dark", "theme-light": "stMainMenuItem-theme-Light",
    "theme-system": "stMainMenuItem-theme-System", "toolbar": "stToolbar",
    "tooltip-content": "stTooltipContent",
    "tooltip-icon": "stTooltipIcon", "vertical-block": "stVerticalBlock", "widget-label": "stWidgetLabel",
}  # fmt: skip
PREFIXES = ("any-button", "primary-button")  # test ids that go on in Streamlit: `stBaseButton-${kind}`
SELECTORS = {name: f"[data-testid{'^' if name in PREFIXES else ''}={one}]" for name, one in TEST_IDS.items()}
SELECTORS |= {"element": ".stElementContainer"}


def fill_selectors(source: str) -> str:
    """A style sheet, a script or a page of ours with Streamlit's selectors in place of `:st(name)`."""
    return re.sub(r":st\(([a-z-]+)\)", lambda part: SELECTORS[part[1]], source)
