//! SHA-256 (FIPS 180-4). The truths name payloads by it; a crate for that
//! would be one more to trust.

/// The primes from 2 on.
fn primes() -> impl Iterator<Item = u32> {
    (2u32..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0))
}

/// The first 32 bits of the fractional part of a prime's root (FIPS 180-4,
/// sections 4.2.2 and 5.3.3), found by bisection in integers.
fn root_bits(prime: u32, power: u32) -> u32 {
    // The largest r with (r / 2^32)^power <= prime; r has at most 37 bits. As
    // r^3 has up to 111 bits, u128 holds everything.
    let wanted = u128::from(prime) << (32 * power);
    let (mut low, mut high) = (0u128, 1u128 << 38);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if middle.pow(power) <= wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u32
}

/// The digest, in lower-case hexadecimal digits.
pub fn hex(message: &[u8]) -> String {
    let k: Vec<u32> = primes().take(64).map(|p| root_bits(p, 3)).collect();
    let mut state: Vec<u32> = primes().take(8).map(|p| root_bits(p, 2)).collect();

    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - message.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let length = padded.len() - 8;
    padded[length..].copy_from_slice(&(message.len() as u64 * 8).to_be_bytes());

    for block in padded.chunks_exact(64) {
        let mut w: Vec<u32> = block
            .chunks_exact(4)
            .map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        for t in 16..64 {
            let (a, b) = (w[t - 15], w[t - 2]);
            let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            w.push(w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1));
        }
        let mut v = state.clone();
        for t in 0..64 {
            let (a, e) = (v[0], v[4]);
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let ch = (e & v[5]) ^ (!e & v[6]);
            let t1 = v[7].wrapping_add(s1).wrapping_add(ch).wrapping_add(k[t]).wrapping_add(w[t]);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let maj = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(t1);
            v[0] = t1.wrapping_add(s0.wrapping_add(maj));
        }
        for (word, add) in state.iter_mut().zip(v) {
            *word = word.wrapping_add(add);
        }
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}
