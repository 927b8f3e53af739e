"""Maps of windows (Swin, Swin v2, Hiera) as maps of all patches: the library's attention sees each window by itself, and gives the last layer's maps of a stage alone."""
import contextlib

TYPES = ("swin", "swinv2", "hiera")


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
def unrolled(model):
    """recorded() of Hiera, whose tokens stand in the order of the library's unroll()."""
    import sys, torch
    code = sys.modules[type(model).__module__]
    steps = [model.config.query_stride] * (len(model.config.depths) - 1)
    stages, hooks, grid = [[] for _ in model.encoder.stages], [], []

    def note(module, given, output):
        grid[:] = output.shape[-2:]

    def take(number, layers):
        def hook(layer, given, output):
            states, maps = output
            rows, columns = grid[0] >> number, grid[1] >> number
            count = rows * columns
            places = torch.arange(count).double().view(1, count, 1)
            order = code.unroll(places, (rows, columns), (1, 1), steps[number:]).flatten().long()
            # Token i of a window w is the token i·W + w of all W windows.
            own = order.view(-1, maps.shape[2]).T
            found = maps.new_zeros(maps.shape[1], count, count)
            for window, tokens in enumerate(own):
                found[:, tokens[:, None], tokens[None, :]] = maps[0, :, window]
            layers.append((found, states[0][order.argsort()]))
        return hook
    hooks.append(model.embeddings.patch_embeddings.projection.register_forward_hook(note))
    for number, (stage, layers) in enumerate(zip(model.encoder.stages, stages)):
        hooks += [layer.register_forward_hook(take(number, layers)) for layer in stage.layers if layer.query_stride == 1]
    try:
        yield stages
    finally:
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def recorded(model):
    """Yields a list with an entry per stage: [(H, T, T) map, (T, C) states that leave] of each layer; without those that pool their queries."""
    if model.config.model_type == "hiera":
        with unrolled(model) as stages:
            yield stages
        return
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
