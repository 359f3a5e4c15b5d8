"""Writes a llama of 8 layers with random Q8_0 weights, 513 MB, and no vocabulary but its size: a file to decode, not to read.

Needs PyPI `gguf`. Usage: model.py OUT.gguf
"""
import os
import sys

import gguf
import numpy

LAYERS, WIDTH, INNER, HEADS, KV_HEADS, WORDS = 8, 2048, 5632, 32, 4, 32000
random = numpy.random.default_rng(1)


def q8_0(rows, columns):
    """Blocks of one f16 scale and 32 bytes, without a pattern."""
    blocks = numpy.empty((rows * columns // 32, 34), numpy.uint8)
    blocks[:, :2] = numpy.frombuffer(numpy.float16(0.0003).tobytes(), numpy.uint8)
    blocks[:, 2:] = random.integers(-127, 128, (len(blocks), 32), numpy.int8).view(numpy.uint8)
    return blocks.reshape(rows, columns // 32 * 34)


def main(path):
    part = path + ".part"
    writer = gguf.GGUFWriter(part, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(WORDS)
    writer.add_tokenizer_model("none")

    def matrix(name, rows, columns):
        writer.add_tensor(name, q8_0(rows, columns), raw_dtype=gguf.GGMLQuantizationType.Q8_0)

    def norm(name):
        writer.add_tensor(name, numpy.ones(WIDTH, numpy.float32))

    matrix("token_embd.weight", WORDS, WIDTH)
    for layer in range(LAYERS):
        norm(f"blk.{layer}.attn_norm.weight")
        matrix(f"blk.{layer}.attn_q.weight", WIDTH, WIDTH)
        matrix(f"blk.{layer}.attn_k.weight", WIDTH // HEADS * KV_HEADS, WIDTH)
        matrix(f"blk.{layer}.attn_v.weight", WIDTH // HEADS * KV_HEADS, WIDTH)
        matrix(f"blk.{layer}.attn_output.weight", WIDTH, WIDTH)
        norm(f"blk.{layer}.ffn_norm.weight")
        matrix(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH)
        matrix(f"blk.{layer}.ffn_up.weight", INNER, WIDTH)
        matrix(f"blk.{layer}.ffn_down.weight", WIDTH, INNER)
    norm("output_norm.weight")
    matrix("output.weight", WORDS, WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.rename(part, path)


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(sys.argv[1])
