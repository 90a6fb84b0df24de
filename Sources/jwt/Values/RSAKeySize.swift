/// The size of an RSA key, in bits.
struct RSAKeySize: ArgumentValue, Equatable {
    let bits: Int

    init(argument: String) throws(ValueError) {
        guard let bits = Int(argument), (2_048...8_192).contains(bits) else {
            throw ValueError(message: "must be a number of bits from 2048 to 8192")
        }
        self.bits = bits
    }
}
