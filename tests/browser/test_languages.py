"""Three languages in a real browser: by the address, by the browser's own, by the menu; and no English word of ours in Chinese."""

import re
from functools import cache

import pytest
from playwright.sync_api import Page, expect
from test_page_frame_and_navigation import uploads_at_most
from wait_and_look import LONG_MS, at_rest, follow, languages, pick

import vitcore
from app import texts
from app.menu import PAGES
from vitcore.architectures.model_summary import module_parts_with_repeats
from vitcore.models.model_cards import MODEL_CARDS

HALF = ("look", "attention", "learn")  # rooms: who goes from page to page within one opens no other on the way
HALVES = [[row.slug for row in PAGES if (row.room in HALF) == here] for here in (True, False)]
TITLES = {lang: texts.parse_texts((texts.TEXTS_FOLDER / lang / "menu.md").read_text(encoding="utf-8")) for lang in texts.LANGUAGES}
SOURCES = [file.read_text(encoding="utf-8") for file in texts.TEXTS_FOLDER.parent.rglob("*.py")]
ICONS = {name for source in SOURCES for name in re.findall(r":material/(\w+):", source)}  # drawn from their names
SEEN = """() => {
  const found = []
  const skipped = "code, pre, .katex, script, style, noscript, span[role=img], [data-testid=stIconMaterial]"
    + ", [data-testid=stStatusWidget]" // Streamlit's own, while a page is on its way
  const said = ["aria-label", "title", "alt", "placeholder", "aria-valuetext"]
  const walk = root => {
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT)
    for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
      const element = node.nodeType === 3 ? node.parentElement : node
      if (!element || element.closest(skipped)) continue
      if (node.nodeType === 3) found.push(node.textContent.trim())
      else for (const name of said) found.push(node.getAttribute(name) || "")
      if (node.shadowRoot) walk(node.shadowRoot)
    }
  }
  walk(document.body)
  return [...new Set(found.filter(text => /[A-Za-z]{3}/.test(text) && !/[\\u4e00-\\u9fff]/.test(text)))]
}"""
# What Streamlit itself says, in English only; there is no option for it.
STREAMLIT = re.compile(
    r"Skip to main content|Sidebar|(Collapse|Expand|Open) sidebar|App pages|Main menu|Choose (an|or add an) option|Open"
    r"|Shortcut .|Close|Clear.*|file upload|Upload|\d+MB per file|• image, .*|Decrement|Increment|Link to heading|Copy to clipboard"
    r"|Fullscreen|Close fullscreen|.* icon|Help for .*|Loading.*|Running.*|Search|Download as CSV|Press Enter.*|Show/hide columns"
)
# Names, which are the same in every language.
NAMES = re.compile(
    r"(A · )?Inside ViT.*|[Tt]oken|(0, )?Esc|logit|softmax|LayerNorm|MLP|Dropout|Rand augment|Mixup|Cutmix|English|translate"
    r"|[a-z]+(-[a-z]+)+|owner/name"
    r"|[a-z0-9]+(_[a-z0-9]+)+.*|GIF|WebP|ZIP|HTML|NPZ|CSV|PNG|SVG|Chefer|Captum|Grad-CAM|arXiv.*"
    r"|Imagenette, Imagewoof|Tiny ImageNet|ResNet.*|ViT-.*|R50.*|BiT.*|VTAB|ImageNet.*|CIFAR-.*|JFT-.*"
    r"|cat|espresso|macaw|dahlia|astronaut|crab|citrus|lemurs|pagoda|castle|paintbrushes|rocket|biplane"
)


@cache
def parts_of_the_model() -> set[str]:
    """What a model card's drawing calls them: names of the module's own, in whatever language it is drawn."""
    vit = vitcore.load()
    drawn = module_parts_with_repeats(vit.module, vit.grid.image_px)
    return {name for part in [*drawn, *(one for part in drawn for one in part.inner_parts)] for name in (part.name, part.kind)}


def english(page: Page) -> list[str]:
    """Words on the page that are neither translated, nor Streamlit's, nor a name."""
    known = {card.title for card in MODEL_CARDS} | ICONS | parts_of_the_model()
    words = [re.sub(r"^[\d.]+ +|\W+[\d.]+\s*%$", "", word) for word in page.evaluate(SEEN)]  # a name, without its figure
    words = [word for word in words if word.split(" · ")[0] not in known]
    return [word for word in words if not STREAMLIT.fullmatch(word) and not NAMES.fullmatch(word)]


@pytest.mark.parametrize(("lang", "half"), [
    ("zh-CN", 0), ("zh-TW", 1), pytest.param("zh-CN", 1, marks=pytest.mark.slow), pytest.param("zh-TW", 0, marks=pytest.mark.slow),
])  # fmt: skip
def test_no_page_says_a_word_of_english(visit, subtests, lang, half):
    """One visitor goes through half of the pages by the menu; the slow tests go through the others."""
    page = at_rest(visit(f"{HALVES[half][0].replace('overview', '')}?lang={lang}"))
    for slug in HALVES[half]:
        with subtests.test(slug):
            at_rest(follow(page, slug, lang))
            assert page.evaluate("document.documentElement.lang") == lang
            assert english(page) == []


def test_the_browser_chooses_the_language_and_english_is_found(visit, server):
    page = visit("about:blank")
    browser, agent = page.context.new_cdp_session(page), page.evaluate("navigator.userAgent")
    for locale, lang in (("zh-TW", "zh-TW"), ("zh-CN", "zh-CN"), ("de-DE", "en")):
        browser.send("Emulation.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": locale})
        page.goto(f"{server}/patches")
        expect(page.locator("h1").first).to_have_text(TITLES[lang]["patches"], timeout=LONG_MS)
    assert "Photo" in english(at_rest(page)), "what looks for English in Chinese finds it"
    browser.detach()


def test_the_menu_chooses_the_language_and_the_address_keeps_it(visit):
    page = at_rest(visit("rollout?patch=7&ask=true"))
    shown = page.locator("figure .thumbs button")
    frames = shown.count()
    pick(page, languages(page), "繁體中文")
    expect(page.locator("h1").first).to_have_text(TITLES["zh-TW"]["rollout"])
    expect(page).to_have_url(re.compile("lang=zh-TW"))
    assert "patch=7" in page.url
    assert at_rest(page) and shown.count() == frames > 1, "a player is there in the other language, too"
    page.get_by_role("tab").nth(1).click()
    uploads_at_most(page, "每個檔案最多 25 MB")
    follow(page, "filters", "zh-TW")
    expect(page).to_have_url(re.compile("filters.*lang=zh-TW"))  # Streamlit writes it a moment after the title
    page.reload()
    expect(page.locator("h1").first).to_have_text(TITLES["zh-TW"]["filters"], timeout=LONG_MS)
