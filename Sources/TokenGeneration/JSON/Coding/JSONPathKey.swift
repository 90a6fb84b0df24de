/// A step of a coding path without a coding key of the type: an array index, or `super`.
struct JSONPathKey: CodingKey {
    private let name: String?
    let intValue: Int?

    init(stringValue: String) {
        name = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        self.init(index: intValue)
    }

    init(index: Int) {
        name = nil
        intValue = index
    }

    var stringValue: String { name ?? "Index \(intValue ?? 0)" }
}
