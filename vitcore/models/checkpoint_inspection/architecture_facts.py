"""What was inferred of a model, as a table of terms and values that a person reads."""

from vitcore.models.checkpoint_inspection.differences import shape_text
from vitcore.models.checkpoint_inspection.infer_architecture import InferredArchitecture
from vitcore.translation import say


def architecture_facts(inferred: InferredArchitecture, format_title: str) -> tuple[tuple[str, str], ...]:
    """A term and its value each, in the reader's language; format_title: the library whose names the tensors have."""
    a = inferred.architecture
    if "transformers" in a:
        return ((say("format"), format_title), (say("architecture"), str(a["class"])))
    if "timm" in a:
        return ((say("format"), format_title), (say("architecture"), str(a["timm"])))
    grid, step = inferred.grid, inferred.step_px
    tokens = [say("class token")] * a["class_token"] + [say("distillation token")] * bool(a.get("distilled"))
    tokens += [say("{count} {count:register|registers}", count=a.get("reg_tokens"))] * bool(a.get("reg_tokens"))
    table = [
        (say("format"), format_title),
        (say("width"), str(a["embed_dim"])),
        (say("blocks"), str(a["depth"])),
        (say("patch"), f"{shape_text(step)} px"),
        (say("grid"), f"{shape_text(grid)}, {shape_text((grid[0] * step[0], grid[1] * step[1]))} px" if grid else "?"),
        (say("heads"), str(a.get("num_heads", "?"))),
        (say("MLP"), f"{round(a['embed_dim'] * a['mlp_ratio'])}" + (f", {a['mlp']}" if "mlp" in a else "")),
        (say("tokens before the patches"), ", ".join(tokens) or say("none")),
        (say("positions"), say("none") if a.get("pos_embed") == "none" else
         say("learned, of patches only") if a.get("no_embed_class") else say("learned")),
        (say("classes"), str(a["num_classes"]) if a["num_classes"] else say("none: it gives features")),
    ]  # fmt: skip
    also = {"init_values": "LayerScale", "pre_norm": "pre-norm", "qk_norm": "QK norm", "mlp_head": "tanh head",
            "head_layers": "MLP head", "norm": "RMSNorm"}  # fmt: skip
    open_terms = {q.key for q in inferred.questions}
    extra = [also[term] for term in also if a.get(term) and term not in open_terms]
    if "backbone" in a:
        extra.append("ResNet " + "-".join(map(str, a["backbone"] or ["root"])))
    return (*table, *([(say("also"), ", ".join(extra))] if extra else []))
