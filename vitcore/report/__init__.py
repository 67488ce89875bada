"""Take it away: a recording as a handout, an animation, pictures and numbers; many photos as a folder or one ZIP file.

    from vitcore.report.handout import handout
    Path("handout.html").write_bytes(handout(vit, rec))

This room stands on recording, models, analysis and figures; the shell's verb `report` and the app's page only call it.
"""
