import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Token content", .computing)
struct ContentConversionTests {
    private func payload(_ payload: [String: Any]) throws -> String {
        let content = JWTRepresentation(header: [:], payload: payload)
        let token = try JWTGenerator(jwtRepresentation: content, signingService: FixedSigningService()).token()
        return try UnverifiedToken(token).unverifiedClaims.serialized()
    }

    private func payload(claims: some Encodable) throws -> String {
        let token = try JWTGenerator(claims: claims, signingService: FixedSigningService()).token()
        return try UnverifiedToken(token).unverifiedClaims.serialized()
    }

    @Test("Writes every type of JSON value")
    func values() throws {
        let fifth: Any? = Optional<Int>.none
        let table: [(Any, String)] = [
            ("s", #""s""#), ("", #""""#), ("é\"\\/\n", #""é\"\\/\n""#), (true, "true"), (false, "false"), (0, "0"),
            (1, "1"), (Int8(-1), "-1"), (Int16(2), "2"), (Int32(3), "3"), (Int64.min, "-9223372036854775808"),
            (UInt8(255), "255"), (UInt16(6), "6"), (UInt32(7), "7"), (UInt64.max, "18446744073709551615"),
            (UInt(8), "8"), (Int128.max, "170141183460469231731687303715884105727"), (UInt128(9), "9"), (1.5, "1.5"),
            (2.0, "2"), (-0.0, "-0.0"), (0.1, "0.1"), (1e300, "1e+300"), (Float(0.1), "0.1"), (Float(3), "3"),
            (CGFloat(0.5), "0.5"), (CGFloat(0.1), "0.1"), (Float16(0.1), "0.1"),
            (Decimal(string: "12345678901234567890.123") as Any, "12345678901234567890.123"),
            (NSNull(), "null"), (NSNumber(value: true), "true"), (NSNumber(value: false), "false"),
            (NSNumber(value: 1), "1"), (NSNumber(value: 0), "0"), (NSNumber(value: Int8(1)), "1"),
            (NSNumber(value: 1.25), "1.25"), (NSNumber(value: UInt64.max), "18446744073709551615"),
            (NSNumber(value: 2.0), "2"), (NSNumber(value: Float(0.1)), "0.1"), (NSNumber(value: -1e300), "-1e+300"),
            (NSArray(array: [NSNumber(value: true), NSNumber(value: 1)]), "[true,1]"),
            (NSDecimalNumber(string: "0.30"), "0.3"), (NSString("n"), #""n""#), (NSMutableString("m"), #""m""#),
            ([Any](), "[]"), ([1, 2], "[1,2]"), (["a", "b"], #"["a","b"]"#),
            ([1, "a", true, 0.5, NSNull()] as [Any], #"[1,"a",true,0.5,null]"#),
            ([[1], [[2]]] as [Any], "[[1],[[2]]]"),
            ([true, false], "[true,false]"), (NSArray(array: [1]), "[1]"), (["b": 1, "a": 2], #"{"a":2,"b":1}"#),
            (["x": ["y": [1: 2].count]], #"{"x":{"y":1}}"#), (NSDictionary(dictionary: ["k": "v"]), #"{"k":"v"}"#),
            (Optional("o") as Any, #""o""#), (fifth as Any, "null"), (Optional(Optional(5)) as Any, "5"),
            ([Optional(1), nil], "[1,null]"), (["a": Optional<String>.none], #"{"a":null}"#),
            (JSONValue.array([1, nil]), "[1,null]"), (["q": 1] as JSONObject, #"{"q":1}"#), (JSONNumber(7), "7"),
            (AnyHashable("h"), #""h""#), (AnyHashable(true), "true"), (Set<Int>().sorted(), "[]"),
        ]
        for (value, expected) in table {
            #expect(try payload(["v": value]) == #"{"v":\#(expected)}"#, "\(type(of: value))")
        }
    }

    @Test("Values from JSONSerialization round-trip")
    func foundationValues() throws {
        let text = #"{"a":[true,false,null,0,1,-1,1.5,"x",{}],"b":{"c":1e2,"d":18446744073709551615,"t":true}}"#
        let object = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(
            try payload(object)
                == #"{"a":[true,false,null,0,1,-1,1.5,"x",{}],"b":{"c":100,"d":18446744073709551615,"t":true}}"#
        )
    }

    @Test("Rejects a value that isn't a JSON type, with its path", .shows("3.32"))
    func refusals() throws {
        struct Opaque {}
        let zip: [String: Any] = ["address": ["zip": Opaque()]]
        let table: [([String: Any], String)] = [
            (zip, "payload.address.zip"), (["list": [1, ["x": Opaque()]]], "payload.list[1].x"),
            (["t": Date(timeIntervalSince1970: 1e15)], "payload.t"), (["d": Data()], "payload.d"),
            (["u": UUID()], "payload.u"),
            (["l": URL(filePath: "/")], "payload.l"), (["n": Double.nan], "payload.n"),
            (["n": Double.infinity], "payload.n"), (["n": [-Float.infinity]], "payload.n[0]"),
            (["n": Decimal.nan], "payload.n"), (["n": NSNumber(value: Double.nan)], "payload.n"),
            (["n": NSNumber(value: -Double.infinity)], "payload.n"), (["n": NSDecimalNumber.notANumber], "payload.n"),
            (["n": CGFloat.infinity], "payload.n"), (["s": Set([1])], "payload.s"), (["m": [1: "a"]], "payload.m"),
            (["t": (1, 2)], "payload.t"), (["c": Character("c")], "payload.c"),
            (["nested": Optional(Opaque()) as Any], "payload.nested"),
        ]
        for (payload, path) in table {
            let refusal = try #require(error { try self.payload(payload) }, "\(path)")
            #expect(refusal.code == .unencodableContent)
            #expect(refusal.message.hasPrefix(path + " "), "\(refusal.message)")
        }
        let inHeader = JWTRepresentation(header: ["x": Opaque()], payload: [:])
        let refusal = try #require(
            error { try JWTGenerator(jwtRepresentation: inHeader, signingService: FixedSigningService()).token() }
        )
        #expect(refusal.message.hasPrefix("header.x "))
    }

    @Test("Rejects content that is deeper than a verifier accepts, without crashing", .shows("D4"))
    func depth() throws {
        func nested(_ levels: Int) -> [String: Any] {
            var value: Any = 1
            for _ in 1..<levels { value = [value] }
            return ["v": value]
        }
        #expect(try !payload(nested(64)).isEmpty)
        #expect(code { try payload(nested(65)) } == .unencodableContent)
        #expect(code { try payload(nested(5_000)) } == .unencodableContent)
    }

    @Test("Writes dates as whole seconds, rounded down, wherever they are", .shows("RFC 7519 §2"))
    func dates() throws {
        struct Wrapper: Encodable {
            let date: Date

            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(date)
            }
        }
        struct Claims: Encodable {
            let early = Date(timeIntervalSince1970: -1.5)
            let list = [Date(timeIntervalSince1970: 1.75)]
            let maybe: Date? = Date(timeIntervalSince1970: 2.999_999)
            let named = ["at": Date(timeIntervalSince1970: 3.25)]
            let wrapped = Wrapper(date: Date(timeIntervalSince1970: 4.5))
            let json = JSONValue(date: Date(timeIntervalSince1970: 5.5))
            let registered = RegisteredClaims(expiration: Date(timeIntervalSince1970: 6.5))
        }
        #expect(
            try payload(claims: Claims()) == """
                {"early":-2,"json":5,"list":[1],"maybe":2,"named":{"at":3},"registered":{"exp":6},"wrapped":4}
                """
        )
        let date = Date(timeIntervalSince1970: 1_700_000_000.75)
        #expect(try payload(claims: ["iat": date]) == #"{"iat":1700000000}"#)
        #expect(try payload(["iat": date, "list": [date as Any]]) == #"{"iat":1700000000,"list":[1700000000]}"#)
        #expect(try payload(["nbf": NSDate(timeIntervalSince1970: 7.5)]) == #"{"nbf":7}"#)
    }

    @Test("Writes the dates of a Codable type as NumericDate", .shows("3.33"))
    func encodable() throws {
        struct Claims: Encodable {
            let when = Date(timeIntervalSince1970: 1_700_000_000)
            let url = URL(string: "https://x/y")
            let flags = [true, false]
            let nested = ["b": 1, "a": 2]
            let absent: Int? = nil
        }
        #expect(
            try payload(claims: Claims()) == """
                {"flags":[true,false],"nested":{"a":2,"b":1},"url":"https://x/y","when":1700000000}
                """
        )
        #expect(try payload(claims: ["k": ["v"]]) == #"{"k":["v"]}"#)
    }

    @Test("Rejects claims that don't encode as a claims set, without their values in the message")
    func unencodable() throws {
        struct Broken: Encodable {
            struct Inner: Encodable { let secretNumber = Double.infinity }
            let inner = Inner()
        }
        let refusal = try #require(error { try payload(claims: Broken()) })
        #expect(refusal.code == .unencodableContent)
        #expect(refusal.message.contains("claims.inner.secretNumber"))
        #expect(!refusal.description.contains("inf"))
        #expect(code { try payload(claims: [1, 2]) } == .unencodableContent)
        #expect(code { try payload(claims: "text") } == .unencodableContent)
        #expect(code { try payload(claims: Optional<[String: Int]>.none) } == .unencodableContent)
    }
}
