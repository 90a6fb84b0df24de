import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Values that can't be claims", .computing)
struct CodableRefusalTests {
    private struct Holder<Value: Encodable>: Encodable {
        let outer: [String: Value]
    }

    @Test("Rejects a nonfinite number with its path", arguments: [Double.nan, .infinity, -.infinity])
    func notFinite(value: Double) throws {
        for refusal in [
            error { try JSONObject(encoding: Holder(outer: ["x": value])) },
            error { try JSONObject(encoding: Holder(outer: ["x": Float(value)])) },
            error { try JSONObject(encoding: Holder(outer: ["x": Decimal.nan])) },
            error { try JSONObject(encoding: Holder(outer: ["x": Date(timeIntervalSince1970: value)])) },
        ] {
            #expect(refusal?.code == .unencodableContent)
            #expect(refusal?.message.contains("claims.outer.x") ?? false, "\(refusal?.message ?? "")")
        }
        let list = error { try JSONObject(encoding: Holder(outer: ["x": [1, value]])) }
        #expect(list?.message.contains("claims.outer.x.Index 1") ?? false, "\(list?.message ?? "")")
    }

    @Test("Rejects values that don't encode as an object")
    func noObject() {
        struct Nothing: Encodable {
            func encode(to encoder: any Encoder) throws {}
        }
        let values: [any Encodable] = ["text", [1, 2], 1, Int?.none, Date(), JSONValue.array([])]
        for value in values { #expect(code { try JSONObject(encoding: value) } == .unencodableContent, "\(value)") }
        #expect(throws: Never.self) { try JSONObject(encoding: Nothing()) }
        #expect(throws: Never.self) { try JSONObject(encoding: JSONValue.object([:])) }
    }

    @Test("Rejects nesting deeper than 64 levels, including endless nesting")
    func depth() throws {
        final class Endless: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(self)
            }
        }
        struct Wrapped: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(self)
            }
        }
        indirect enum Chain: Encodable {
            case end
            case link(Chain)

            init(_ length: Int) { self = length == 0 ? .end : .link(Chain(length - 1)) }

            func encode(to encoder: any Encoder) throws {
                guard case .link(let next) = self else { return }
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(next, forKey: .next)
            }

            enum Keys: CodingKey { case next }
        }
        #expect(code { try JSONObject(encoding: Endless()) } == .unencodableContent)
        #expect(code { try JSONObject(encoding: Wrapped()) } == .unencodableContent)
        #expect(code { try JSONObject(encoding: Chain(63)) } == nil)
        #expect(code { try JSONObject(encoding: Chain(65)) } == .unencodableContent)
        func list(_ levels: Int) -> JSONValue { levels == 0 ? true : [list(levels - 1)] }
        #expect(code { try JSONObject(encoding: ["x": list(63)]) } == nil)
        #expect(code { try JSONObject(encoding: ["x": list(64)]) } == .unencodableContent)
    }

    @Test("A value that fails leaves nothing in its container, which continues")
    func rollback() throws {
        struct Single: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try? container.encode([1, .nan])
                try container.encode(2)
            }
        }
        struct Claims: Encodable {
            enum Keys: CodingKey { case list, single, replaced, nested }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                var list = container.nestedUnkeyedContainer(forKey: .list)
                try? list.encode([1, .nan])
                try list.encode(list.count)
                try container.encode(Single(), forKey: .single)
                try container.encode(3, forKey: .replaced)
                try? container.encode([1, .nan], forKey: .replaced)
                var nested = container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
                _ = container.nestedUnkeyedContainer(forKey: .nested)
                try nested.encode(1, forKey: .single)
            }
        }
        #expect(
            try JSONObject(encoding: Claims()).serialized() == #"{"list":[0],"nested":[],"replaced":3,"single":2}"#
        )
    }

    @Test("Rejects a value that encodes itself twice or after its end, without out-of-bounds access")
    func misuse() throws {
        struct TwoKinds: Encodable {
            func encode(to encoder: any Encoder) throws {
                _ = encoder.unkeyedContainer()
                var container = encoder.container(keyedBy: Keys.self)
                try? container.encode(1, forKey: .a)
            }
        }
        struct TwoValues: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            }
        }
        final class Late: Encodable {
            private var kept: (any Encoder)?
            func encode(to encoder: any Encoder) throws {
                if let late = kept {
                    var container = late.container(keyedBy: Keys.self)
                    try container.encode(1, forKey: .a)
                }
                kept = encoder
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(1, forKey: .a)
            }
        }
        final class LateContainer: Encodable {
            private var kept: (any UnkeyedEncodingContainer)?
            func encode(to encoder: any Encoder) throws {
                if var late = kept {
                    var inner = late.nestedUnkeyedContainer()
                    #expect(throws: EncodingError.self) { try inner.encode(1) }
                    try late.encode(1)
                }
                var container = encoder.container(keyedBy: Keys.self)
                kept = container.nestedUnkeyedContainer(forKey: .a)
            }
        }
        enum Keys: CodingKey { case a }
        #expect(code { try JSONObject(encoding: ["x": TwoKinds()]) } == .unencodableContent)
        #expect(code { try JSONObject(encoding: ["x": TwoValues()]) } == .unencodableContent)
        let late = Late()
        #expect(code { try JSONObject(encoding: ["x": late]) } == nil)
        #expect(code { try JSONObject(encoding: ["x": late]) } == .unencodableContent)
        let lateContainer = LateContainer()
        #expect(code { try JSONObject(encoding: ["x": lateContainer]) } == nil)
        #expect(code { try JSONObject(encoding: ["x": lateContainer]) } == .unencodableContent)
    }

    @Test("The error of a custom type is the cause")
    func cause() throws {
        struct Broken: Encodable, Decodable {
            struct Failure: Error {}
            init() {}
            init(from decoder: any Decoder) throws { throw Failure() }
            func encode(to encoder: any Encoder) throws { throw Failure() }
        }
        let encoding = try #require(error { try JSONObject(encoding: ["x": Broken()]) })
        #expect(encoding.code == .unencodableContent)
        #expect(encoding.cause is Broken.Failure)
        let decoding = try #require(error { try JSONObject().decode(as: Broken.self) })
        #expect(decoding.code == .malformedClaim)
        #expect(decoding.cause is Broken.Failure)
    }

    @Test("Our coders preserve JSON inside a Codable type, and Foundation's decode the same values")
    func jsonMembers() throws {
        struct Claims: Codable, Equatable {
            var any: JSONValue
            var object: JSONObject
            var list: [JSONValue]
        }
        let text =
            #"{"any":{"b":[1.0,null,true],"a":"x"},"list":[1e2,18446744073709551615,-0.5],"object":{"n":12345678901}}"#
        let claims = try JSONObject(parsing: text).decode(as: Claims.self)
        #expect(claims.any.object?.map(\.name) == ["b", "a"])
        #expect(try JSONObject(encoding: claims) == JSONObject(parsing: text))
        let theirs = try JSONDecoder().decode(Claims.self, from: JSONEncoder().encode(claims))
        #expect(theirs.object == claims.object)
        #expect(theirs.list[1] == claims.list[1])
        #expect(theirs.any.object?["a"] == "x")
        #expect(throws: (any Error).self) {
            try JSONEncoder().encode(["x": JSONValue.number(try #require(JSONNumber(literal: "1e999")))])
        }
    }
}
