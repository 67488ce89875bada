"""How browser tests look: what is there twice for a moment fails nothing."""

from playwright.sync_api import expect

TWICE = "<h1>Patches</h1><h1 id=gone>Filters</h1>"
GOES = "setTimeout(() => document.querySelector('#gone').remove(), 300)"


def test_what_is_there_twice_while_a_page_changes_is_asked_again(chromium):
    page = chromium.new_page()
    title = page.locator("h1")
    for look in (lambda: title.inner_text(), lambda: expect(title).to_have_text("Patches") or "Patches"):
        page.set_content(TWICE)
        page.evaluate(GOES)
        assert look() == "Patches"
    page.close()
