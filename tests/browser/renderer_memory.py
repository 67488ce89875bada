"""What Chromium's processes say of their memory (memory-infra)."""

from playwright.sync_api import Page
from wait_and_look import settled


def allocators_mb(page: Page) -> dict[int, dict[str, float]]:
    """By process, in MB: what each part of the browser holds, as "cc/image_memory" (images that were drawn)."""
    assert page.context.browser
    session, found, ended = page.context.browser.new_browser_cdp_session(), list[dict](), list[dict]()
    session.on("Tracing.dataCollected", lambda told: found.extend(told["value"]))
    session.on("Tracing.tracingComplete", lambda told: ended.append(told))
    only = {"includedCategories": ["disabled-by-default-memory-infra"], "excludedCategories": ["*"]}
    session.send("Tracing.start", {"traceConfig": only | {"memoryDumpConfig": {"triggers": []}}, "transferMode": "ReportEvents"})
    session.send("Tracing.requestMemoryDump", {"levelOfDetail": "detailed"})
    session.send("Tracing.end")
    settled(page, lambda: ended, bool)
    dumps = {one["pid"]: one["args"]["dumps"].get("allocators", {}) for one in found if one["ph"] == "v"}
    size = lambda told: int(told.get("attrs", {}).get("size", {"value": "0"})["value"], 16) / 1e6  # noqa: E731
    return {pid: {name: size(told) for name, told in parts.items()} for pid, parts in dumps.items()}
