/// The number of an entry in a recording, from 1.
struct EntryNumber: ArgumentValue, Equatable {
    let number: Int

    init(argument: String) throws(ValueError) {
        guard argument.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(argument), number > 0 else {
            throw ValueError(message: "must be a number from 1")
        }
        self.number = number
    }
}
