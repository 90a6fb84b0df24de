/// A TCP port number.
struct PortNumber: ArgumentValue, Equatable {
    let number: UInt16

    init(argument: String) throws(ValueError) {
        guard let number = UInt16(argument), number > 0, argument.utf8.first != UInt8(ascii: "+") else {
            throw ValueError(message: "must be a port number from 1 to 65535")
        }
        self.number = number
    }
}
