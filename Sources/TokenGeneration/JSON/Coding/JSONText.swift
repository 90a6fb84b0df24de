internal import OpenSSLCrypto

/// Partially written JSON text, with the state of its incomplete values.
///
/// A value ends before the next value of its container starts, so that all values are written
/// directly to the bytes. When an object is complete, its members are sorted.
struct JSONText {
    private(set) var output = JSONOutput()
    private(set) var hasUnusualNames = false
    private(set) var levels: Int

    private var values: [Value] = []
    private var places: [Place] = []
    private var serial = 0

    struct Ticket {
        fileprivate let index: Int32
        let pathCount: Int32
        fileprivate let serial: Int
    }

    enum Shape {
        case nothing, single, object, array
    }

    private struct Value {
        let serial: Int
        let start: Int
        let firstPlace: Int
        var shape = Shape.nothing
        var count = 0
    }

    private struct Place {
        let start: Int
        var nameEnd: Int
        var end: Int
        let child: Int?
    }

    struct Mark {
        fileprivate let size: Int
        fileprivate let places: Int
        fileprivate let values: Int
        fileprivate let count: Int
        fileprivate let levels: Int
    }

    init(levels: Int) {
        self.levels = levels
        values.reserveCapacity(4)
        places.reserveCapacity(8)
    }

    mutating func open(pathCount: Int) -> Ticket {
        serial += 1
        values.append(Value(serial: serial, start: output.count, firstPlace: places.count))
        return Ticket(index: Int32(values.count - 1), pathCount: Int32(pathCount), serial: serial)
    }

    var openValues: Int { values.count }

    func count(_ ticket: Ticket) -> Int {
        let index = Int(ticket.index)
        return index < values.count && values[index].serial == ticket.serial ? values[index].count : 0
    }

    /// Returns `false` if that isn't possible.
    mutating func startContainer(_ ticket: Ticket, _ shape: Shape) -> Bool {
        guard let index = top(ticket) else { return false }
        if values[index].shape == shape { return true }
        guard values[index].shape == .nothing else { return false }
        values[index].shape = shape
        levels += 1
        output.append(shape == .object ? UInt8(ascii: "{") : UInt8(ascii: "["))
        return true
    }

    /// Returns `false` if that isn't possible.
    mutating func startSingle(_ ticket: Ticket) -> Bool {
        guard let index = top(ticket), values[index].shape == .nothing else { return false }
        values[index].shape = .single
        return true
    }

    /// Returns `false` if the container can't be written to at this time.
    mutating func write(_ ticket: Ticket, _ name: String?, _ scalar: JSONScalar) -> Bool {
        guard startPart(ticket, name) else { return false }
        write(scalar)
        return true
    }

    /// Writes the name of a member whose value comes next, or the comma before an element; if the
    /// value is written elsewhere, `child` is the number of its text.
    mutating func startPart(_ ticket: Ticket, _ name: String?, child: Int? = nil) -> Bool {
        guard let index = top(ticket) else { return false }
        if values[index].count > 0 { output.append(UInt8(ascii: ",")) }
        values[index].count += 1
        let start = output.count
        if places.count > values[index].firstPlace { places[places.count - 1].end = start - 1 }
        if let name {
            if !output.append(quoted: name) { hasUnusualNames = true }
            places.append(Place(start: start, nameEnd: output.count, end: start, child: child))
            output.append(UInt8(ascii: ":"))
        } else if child != nil {
            places.append(Place(start: start, nameEnd: start, end: start, child: child))
        }
        return true
    }

    mutating func write(_ scalar: JSONScalar) { output.append(scalar) }

    mutating func takeJSON() -> [UInt8] { output.take() }

    func mark(_ ticket: Ticket) -> Mark {
        Mark(size: output.count, places: places.count, values: values.count, count: count(ticket), levels: levels)
    }

    mutating func goBack(to mark: Mark) {
        output.truncate(to: mark.size)
        places.removeLast(places.count - mark.places)
        values.removeLast(values.count - mark.values)
        if !values.isEmpty { values[values.count - 1].count = mark.count }
        levels = mark.levels
    }

    @inline(__always)
    private func top(_ ticket: Ticket) -> Int? {
        let index = Int(ticket.index)
        return index == values.count - 1 && values[index].serial == ticket.serial ? index : nil
    }

    /// `children` are the texts of values that were written elsewhere.
    mutating func close(with children: [JSONText] = []) {
        guard let value = values.popLast() else { return }
        if value.firstPlace < places.count { places[places.count - 1].end = output.count }
        switch value.shape {
        case .nothing: output.append(literal: "{}")
        case .single: break
        case .object:
            if !children.isEmpty {
                sortPlaces(from: value.firstPlace)
                completeObject(value, children)
            } else if sortPlaces(from: value.firstPlace) {
                output.append(UInt8(ascii: "}"))
            } else {
                completeObject(value)
            }
            levels -= 1
        case .array:
            if children.isEmpty { output.append(UInt8(ascii: "]")) } else { completeArray(value, children) }
            levels -= 1
        }
        if places.count > value.firstPlace { places.removeLast(places.count - value.firstPlace) }
    }

    private static func order(_ left: Place, _ right: Place, in text: Span<UInt8>) -> Int {
        let leftCount = left.nameEnd - left.start
        let rightCount = right.nameEnd - right.start
        // Both end with a quotation mark, which doesn't count.
        let common = min(leftCount, rightCount) - 1
        var offset = 1
        while offset < common {
            let difference = Int(text[left.start + offset]) - Int(text[right.start + offset])
            if difference != 0 { return difference }
            offset += 1
        }
        return leftCount - rightCount
    }

    /// Keeps the order of members with the same name; returns `true` if all were already sorted,
    /// with distinct names.
    @discardableResult
    private mutating func sortPlaces(from first: Int) -> Bool {
        let buffer = output.buffer
        let text = buffer.span
        guard places.count - first <= 16 else {
            let isInOrder = (first + 1..<places.count).allSatisfy {
                Self.order(places[$0 - 1], places[$0], in: buffer.span) < 0
            }
            guard !isInOrder else { return true }
            let sorted = places[first...].sorted {
                let order = Self.order($0, $1, in: buffer.span)
                return order == 0 ? $0.start < $1.start : order < 0
            }
            places.replaceSubrange(first..., with: sorted)
            return false
        }
        var wasInOrder = true
        var next = first + 1
        while next < places.count {
            let place = places[next]
            let order = Self.order(place, places[next - 1], in: text)
            if order <= 0 { wasInOrder = false }
            if order < 0 {
                var target = next
                repeat {
                    places[target] = places[target - 1]
                    target -= 1
                } while target > first && Self.order(place, places[target - 1], in: text) < 0
                places[target] = place
            }
            next += 1
        }
        return wasInOrder
    }

    /// Keeps the last of several members with the same name.
    private mutating func completeObject(_ value: Value) {
        let buffer = output.buffer
        let text = buffer.span
        var result = [UInt8](zeros: max(256, output.count + 1))
        var target = result.mutableSpan
        target.store(text.extracting(first: value.start + 1), at: 0)
        var end = value.start + 1
        for index in value.firstPlace..<places.count {
            let place = places[index]
            if index + 1 < places.count, Self.order(place, places[index + 1], in: text) == 0 { continue }
            if end > value.start + 1 {
                target[end] = UInt8(ascii: ",")
                end += 1
            }
            target.store(text.extracting(place.start..<place.end), at: end)
            end += place.end - place.start
        }
        target[end] = UInt8(ascii: "}")
        output = JSONOutput(result, count: end + 1)
    }

    private mutating func completeObject(_ value: Value, _ children: [JSONText]) {
        let old = output.buffer
        var result = Array(old[...value.start])
        var isFirst = true
        for index in value.firstPlace..<places.count {
            let place = places[index]
            if index + 1 < places.count, Self.order(place, places[index + 1], in: old.span) == 0 { continue }
            if !isFirst { result.append(UInt8(ascii: ",")) }
            isFirst = false
            result.append(contentsOf: old[place.start..<place.end])
            if let child = place.child { insert(children[child], into: &result) }
        }
        result.append(UInt8(ascii: "}"))
        output = JSONOutput(continuing: result)
    }

    private mutating func completeArray(_ value: Value, _ children: [JSONText]) {
        let old = output.buffer
        var result: [UInt8] = []
        var copied = 0
        for place in places[value.firstPlace...] {
            result.append(contentsOf: old[copied..<place.start])
            copied = place.start
            if let child = place.child { insert(children[child], into: &result) }
        }
        result.append(contentsOf: old[copied..<output.count])
        result.append(UInt8(ascii: "]"))
        output = JSONOutput(continuing: result)
    }

    private mutating func insert(_ child: JSONText, into result: inout [UInt8]) {
        result.append(contentsOf: child.output.finished())
        if child.hasUnusualNames { hasUnusualNames = true }
    }
}
