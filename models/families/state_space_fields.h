// Names that families give the fields of Mamba-2.
#pragma once

namespace locus::families {

struct StateSpaceFields {
  const char* heads = "mamba_n_heads";
  const char* head_width = "mamba_d_head";
  const char* states = "mamba_d_state";
  const char* groups = "mamba_n_groups";
  const char* kernel = "mamba_d_conv";
  const char* kernel_bias = "mamba_conv_bias";
  const char* bias = "mamba_proj_bias";
};

}  // namespace locus::families
