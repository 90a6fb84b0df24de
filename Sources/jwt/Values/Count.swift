/// A number of repetitions.
struct Count: ArgumentValue, Equatable {
    private static let range = 0...100

    let number: Int

    init(argument: String) throws(ValueError) {
        guard let number = Int(argument), Self.range.contains(number), argument.utf8.first != UInt8(ascii: "+") else {
            throw ValueError(message: "must be a number from \(Self.range.lowerBound) to \(Self.range.upperBound)")
        }
        self.number = number
    }
}
