import Foundation

/// A validator for the HAR 1.2 specification's tables, which list required members and their types.
///
/// Members that begin with an underscore are ignored.
struct HARValidator {
    private indirect enum Shape: Sendable {
        case text, integer, duration, optionalDuration, date
        case list(Shape)
        case object(required: [String: Shape], optional: [String: Shape])
    }

    private static var pair: Shape {
        .object(required: ["name": .text, "value": .text], optional: ["comment": .text])
    }

    private static var message: [String: Shape] {
        [
            "httpVersion": .text, "cookies": .list(pair), "headers": .list(pair), "headersSize": .integer,
            "bodySize": .integer,
        ]
    }

    private static var entry: Shape {
        .object(
            required: [
                "startedDateTime": .date, "time": .duration, "cache": .object(required: [:], optional: [:]),
                "request": .object(
                    required: message.merging(["method": .text, "url": .text, "queryString": .list(pair)]) { $1 },
                    optional: [
                        "postData": .object(
                            required: ["mimeType": .text],
                            optional: ["text": .text, "params": .list(pair), "comment": .text]
                        )
                    ]
                ),
                "response": .object(
                    required: message.merging(
                        [
                            "status": .integer, "statusText": .text, "redirectURL": .text,
                            "content": .object(
                                required: ["size": .integer, "mimeType": .text],
                                optional: ["text": .text, "encoding": .text, "comment": .text, "compression": .integer]
                            ),
                        ]
                    ) { $1 },
                    optional: ["comment": .text]
                ),
                "timings": .object(
                    required: ["send": .duration, "wait": .duration, "receive": .duration],
                    optional: [
                        "blocked": .optionalDuration, "dns": .optionalDuration, "connect": .optionalDuration,
                        "ssl": .optionalDuration, "comment": .text,
                    ]
                ),
            ],
            optional: ["serverIPAddress": .text, "connection": .text, "comment": .text, "pageref": .text]
        )
    }

    private static var document: Shape {
        .object(
            required: [
                "log": .object(
                    required: [
                        "version": .text, "entries": .list(entry),
                        "creator": .object(required: ["name": .text, "version": .text], optional: ["comment": .text]),
                    ],
                    optional: ["comment": .text]
                )
            ],
            optional: [:]
        )
    }

    static func violations(in data: Data) -> [String] {
        guard let value = try? JSONSerialization.jsonObject(with: data) else { return ["not JSON"] }
        return violations(of: value, document, at: "")
    }

    private static func violations(of value: Any, _ shape: Shape, at place: String) -> [String] {
        switch shape {
        case .text: return value is String ? [] : ["\(place) isn't a string"]
        case .integer: return value is Int ? [] : ["\(place) isn't an integer"]
        case .duration: return (value as? Double).map { $0 >= 0 } == true ? [] : ["\(place) isn't a duration"]
        case .optionalDuration:
            return (value as? Double).map { $0 >= 0 || $0 == -1 } == true ? [] : ["\(place) isn't a duration or -1"]
        case .date:
            let isDate =
                (value as? String)?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)/) != nil
            return isDate ? [] : ["\(place) isn't a date with milliseconds and a time zone"]
        case .list(let element):
            guard let values = value as? [Any] else { return ["\(place) isn't an array"] }
            return values.enumerated().flatMap { violations(of: $1, element, at: "\(place)[\($0)]") }
        case .object(let required, let optional):
            guard let members = value as? [String: Any] else { return ["\(place) isn't an object"] }
            let missing = required.keys.filter { members[$0] == nil }.map { "\(place).\($0) is missing" }
            return missing
                + members.filter { !$0.key.hasPrefix("_") }.flatMap { name, value in
                    guard let shape = required[name] ?? optional[name] else { return ["\(place).\(name) is unknown"] }
                    return violations(of: value, shape, at: "\(place).\(name)")
                }
        }
    }
}
