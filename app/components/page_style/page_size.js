// How large type and screen are, for figures: `PageSize` of page_style.py. `static/head.html` holds it, too, and tells the first run.

export const PHONE_PX = 640 // below it Streamlit stacks columns

export function pageSize() {
  const scale = Math.max(1, Math.round(parseFloat(getComputedStyle(document.documentElement).fontSize) / 4) / 4)
  const narrow = innerWidth <= PHONE_PX ? innerWidth : 0
  return { scale, narrow, high: scale > 1 ? Math.floor(innerHeight / 100) * 100 : 0 }
}
