"""Maps of windows (Swin, Swin v2) as maps of all patches: the library's attention sees each window by itself, and gives the last layer's maps of a stage alone."""
import contextlib

TYPES = ("swin", "swinv2")


def whole(maps, rows, columns, window, shift):
    """(windows, H, W², W²) of a grid that was padded to whole windows and turned by the shift → (H, T, T) of its patches in their order; 0 between windows."""
    import torch
    down, right = -(-rows // window) * window, -(-columns // window) * window
    grid = torch.arange(down * right).view(down, right)
    patches = grid.roll((-shift, -shift), (0, 1)).view(down // window, window, right // window, window).transpose(1, 2).reshape(-1, window * window)
    found = maps.new_zeros(maps.shape[1], down * right, down * right)
    for own, one in zip(patches, maps):
        found[:, own[:, None], own[None, :]] = one
    there = grid[:rows, :columns].flatten()
    return found[:, there][:, :, there]


@contextlib.contextmanager
def recorded(model):
    """Yields a list with an entry per stage: [(H, T, T) map, (T, C) states that leave] of each layer."""
    stages, hooks = [[] for _ in model.encoder.layers], []

    def take(layers):
        def hook(block, given, output):
            rows, columns = given[1]
            layers.append((whole(output[1], rows, columns, int(block.window_size), int(block.shift_size)), output[0][0]))
        return hook
    for stage, layers in zip(model.encoder.layers, stages):
        hooks += [block.register_forward_hook(take(layers)) for block in stage.blocks]
    try:
        yield stages
    finally:
        for hook in hooks:
            hook.remove()
