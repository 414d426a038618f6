#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| chunkscope_fuzz::targets::coding(octets));
