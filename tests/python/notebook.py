"""A notebook in a kernel of this Python: a tiny model is recorded, and its figure is what the cell shows. For tests/wheel."""

import html
import re
import sys

import nbformat
from nbclient import NotebookClient

CELLS = (
    """
import torch, locus_trace

class Heads(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.Linear(16, 48)

    def forward(self, states):
        q, k, v = (each.unflatten(-1, (2, 8)).transpose(1, 2) for each in self.parts(states).chunk(3, -1))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

torch.manual_seed(5)
with locus_trace.record("run.safetensors") as trace:
    Heads()(torch.randn(1, 6, 16))
trace
""",
    'locus_trace.show(trace, view="attention", layer=0, head=1)',
    'locus_trace.show(trace, view="attention", layer=0, head=2)',
)


def main():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in CELLS])
    NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True).execute()
    recorded, shown, refused = (cell.outputs for cell in notebook.cells)
    said = recorded[-1].get("data", {}).get("text/plain", recorded)
    assert said == "1 layers, 6 tokens, none", said
    assert [each.output_type for each in shown] == ["execute_result"], shown
    cell = shown[0].data["text/html"]
    page = html.unescape(re.fullmatch(r'<iframe [^>]*srcdoc="([^"]*)"></iframe>', cell).group(1))
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>"), page[:200]
    assert "layer 0, head 1" in page and "<script" in page, page[:2000]
    assert refused[-1].output_type == "error" and refused[-1].ename == "TraceError" and "head" in refused[-1].evalue, refused
    print(f"notebook: a recording of {said}, and its figure of {len(page)} bytes in the cell")
    return 0


if __name__ == "__main__":
    sys.exit(main())
