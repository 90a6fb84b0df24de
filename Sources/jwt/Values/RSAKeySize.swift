/// The size of an RSA key's modulus in bits.
struct RSAKeySize: ArgumentValue, Equatable {
    let bits: Int

    init(argument: String) throws(ValueError) {
        guard let bits = Int(argument), (2_048...16_384).contains(bits) else {
            throw ValueError(message: "must be a number of bits from 2048 to 16384")
        }
        self.bits = bits
    }
}
