"""The picture of the page Live: frames of a camera, a clip or an image, and the model that runs on them in the browser."""
