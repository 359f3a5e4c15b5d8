"""Writes a Llama model with random weights and without a vocabulary, for benchmarks. q8_0: 8 layers, 513 MB; q4_k_m: 16 layers in
llama.cpp's mix of Q4_K and Q6_K.

Usage: model.py OUT.gguf q8_0|q4_k_m (requires the `gguf` package)
"""
import os
import sys

import gguf
import numpy

WIDTH, INNER, HEADS, KV_HEADS, WORDS = 2048, 5632, 32, 4, 32000
LAYERS = {"q8_0": 8, "q4_k_m": 16}
# Weights per block, bytes per block, and offsets of the f16 scales.
BLOCKS = {"Q8_0": (32, 34, [0]), "Q4_K": (256, 144, [0, 2]), "Q6_K": (256, 210, [208])}
random = numpy.random.default_rng(1)


def random_blocks(kind, rows, columns):
    """Random blocks with small scales."""
    weights, size, scales = BLOCKS[kind]
    blocks = random.integers(0, 256, (rows * columns // weights, size), numpy.uint8)
    for at in scales:
        blocks[:, at : at + 2] = numpy.frombuffer(numpy.float16(0.0003).tobytes(), numpy.uint8)
    return blocks.reshape(rows, columns // weights * size)


def main(path, mix):
    part = path + ".part"
    writer = gguf.GGUFWriter(part, "llama")
    layers = LAYERS[mix]
    writer.add_block_count(layers)
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(WORDS)
    writer.add_tokenizer_model("none")

    def matrix(name, rows, columns, finer=False):
        kind = "Q8_0" if mix == "q8_0" else "Q6_K" if finer else "Q4_K"
        writer.add_tensor(name, random_blocks(kind, rows, columns), raw_dtype=gguf.GGMLQuantizationType[kind])

    def norm(name):
        writer.add_tensor(name, numpy.ones(WIDTH, numpy.float32))

    matrix("token_embd.weight", WORDS, WIDTH)
    for layer in range(layers):
        finer = layer % 2 == 0
        norm(f"blk.{layer}.attn_norm.weight")
        matrix(f"blk.{layer}.attn_q.weight", WIDTH, WIDTH)
        matrix(f"blk.{layer}.attn_k.weight", WIDTH // HEADS * KV_HEADS, WIDTH)
        matrix(f"blk.{layer}.attn_v.weight", WIDTH // HEADS * KV_HEADS, WIDTH, finer)
        matrix(f"blk.{layer}.attn_output.weight", WIDTH, WIDTH)
        norm(f"blk.{layer}.ffn_norm.weight")
        matrix(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH)
        matrix(f"blk.{layer}.ffn_up.weight", INNER, WIDTH)
        matrix(f"blk.{layer}.ffn_down.weight", WIDTH, INNER, finer)
    norm("output_norm.weight")
    matrix("output.weight", WORDS, WIDTH, True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.rename(part, path)


if len(sys.argv) != 3 or sys.argv[2] not in LAYERS:
    sys.exit(__doc__)
main(*sys.argv[1:])
