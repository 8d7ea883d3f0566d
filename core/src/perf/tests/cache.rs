//! The cache of serving engines.

use super::check;

#[test]
fn keys_and_values_go_to_the_cache() {
    check(
        "
        # Two tokens of 2 heads of 4, keys and values: 32 numbers of two bytes become one byte each; a
        # place of eight bytes for each token.
        _C_cache_ops::reshape_and_cache_flash(2x2x4, 2x2x4, 9x2x4:c10::Float8_e4m3fn, 9x2x4:c10::Float8_e4m3fn, 2:long int, =fp8) -> 0 | 64 + 32 + 16
        # Latent keys of 6 with a rotated part of 2.
        _C_cache_ops::concat_and_cache_mla(2x6, 2x2, 9x8, 2:long int, =auto) -> 0 | 64 + 16
        ",
    );
}
