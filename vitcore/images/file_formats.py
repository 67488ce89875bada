"""What a file is by its first bytes: a picture that is read or one that is not, another format, or text."""

PICTURES = {(0, b"\x89PNG"): "PNG", (0, b"\xff\xd8\xff"): "JPEG", (0, b"GIF8"): "GIF", (8, b"WEBP"): "WebP",
            **dict.fromkeys([(0, b"II*\0"), (0, b"MM\0*"), (0, b"II+\0"), (0, b"MM\0+")], "TIFF")}  # fmt: skip
UNREAD_PICTURES = {  # by bytes, and where they stand
    (0, b"\xff\x0a"): "JPEG XL", (4, b"JXL "): "JPEG XL", (4, b"jP  "): "JPEG 2000", (0, b"\xff\x4f\xff\x51"): "JPEG 2000",
    (0, b"8BPS"): "PSD", (0, b"v/1\1"): "OpenEXR", (0, b"qoif"): "QOI", (0, b"SIMPLE  ="): "FITS", (128, b"DICM"): "DICOM",
    (0, b"IIRO"): "raw (ORF)", (0, b"IIU\0"): "raw (RW2)", (0, b"FUJIFILMCCD-RAW"): "raw (RAF)", (4, b"ftypcrx "): "raw (CR3)",
}  # fmt: skip
OTHER_FORMATS = {
    (0, b"%PDF"): "PDF", (0, b"\x93NUMPY"): "NumPy (.npy)", (4, b"ftypqt  "): "film (QuickTime)", (4, b"ftypmp4"): "film (MP4)",
    (4, b"ftypisom"): "film (MP4)",
}  # fmt: skip


def format_by_first_bytes(data: bytes, *tables: dict[tuple[int, bytes], str]) -> str:
    """The format of a file among those of `tables`, of which each names bytes and where they stand; "" for any other."""
    return next((kind for table in tables for (at, magic), kind in table.items() if data.startswith(magic, at)), "")


def first_words(data: bytes, max_characters: int = 60) -> str:
    """The first sentence of a file that is text to read, such as a server's answer in place of a download; "" of other bytes."""
    text = data[:512].decode("utf-8-sig", errors="ignore").strip()
    letters = text.replace("\n", " ").replace("\r", "").replace("\t", " ")
    return (
        letters.partition(". ")[0][:max_characters].rstrip()
        if letters.isprintable() and len(text.encode()) > 0.9 * len(data[:512].strip())
        else ""
    )
