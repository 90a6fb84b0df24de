/// A step of a coding path without a coding key of the type: an array index, or `super`.
struct JSONPathKey: CodingKey {
    private let name: String?
    let intValue: Int?

    init(stringValue: String) {
        name = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        name = nil
        self.intValue = intValue
    }

    var stringValue: String { name ?? "Index \(intValue ?? 0)" }
}
