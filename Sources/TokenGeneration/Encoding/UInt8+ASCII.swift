extension UInt8 {
    /// A Boolean value that indicates whether the byte is a decimal digit.
    package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// A Boolean value that indicates whether the byte is a space, a tab or a line break.
    package var isBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }

    /// The byte, or the lowercase letter of an uppercase one.
    var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }

    /// The value of a hexadecimal digit, or `nil` for any other byte.
    var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
