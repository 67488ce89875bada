"""`python -m tests.shipping.landing_picture`: the picture that the app starts with."""

import json

from app.state.landing_figures import PICTURE_FILE, rollout_picture
from app.state.photos import sample_photos
from vitcore.figures.attention import resize_for_figure
from vitcore.forward.recording import record
from vitcore.images import sharp_crop
from vitcore.models.load_model import load

if __name__ == "__main__":
    name, vit = sample_photos.sample_photo_rows()[0]["id"], load()
    rec = record(vit, sample_photos.SAMPLES / f"{name}.jpg")
    picture = rollout_picture(rec, name, vit.pooling, resize_for_figure(sharp_crop(rec.photo, rec.model_input)))
    PICTURE_FILE.write_text(json.dumps(picture, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
