import TestSupport
import Testing
import TokenGeneration

@Suite("JSON numbers", .computing)
struct JSONNumberTests {
    @Test(
        "A number has its exact integer and its finite double, or nil",
        arguments: [
            ("0", 0, 0), ("-0", 0, -0.0), ("12", 12, 12), ("-7", -7, -7), ("1.0", 1, 1), ("1.50", nil, 1.5),
            ("1e3", 1_000, 1_000), ("1.2E1", 12, 12), ("1200e-2", 12, 12), ("-1.5e1", -15, -15), ("12e-1", nil, 1.2),
            ("0e999999999999999999999", 0, 0), ("0.000", 0, 0), ("1e999", nil, nil), ("-1e999", nil, nil),
            ("1e300", nil, 1e300), ("1e-999", nil, 0), ("9223372036854775807", .max, 0x1p63),
            ("9223372036854775808", nil, 0x1p63), ("-9223372036854775808", .min, -0x1p63),
            ("9.223372036854775807e18", .max, 0x1p63), ("9.223372036854775808e18", nil, 0x1p63),
            ("1e18", 1_000_000_000_000_000_000, 1e18), ("1e19", nil, 1e19),
            ("123456789012345678901234567890", nil, 1.2345678901234568e29), ("1e99999999999999999999", nil, nil),
            ("1e-99999999999999999999", nil, 0),
        ] as [(String, Int?, Double?)]
    )
    func values(literal: String, integer: Int?, double: Double?) throws {
        let number = try #require(JSONNumber(literal: literal))
        #expect(number.integer == integer)
        #expect(number.double == double)
        #expect(number.description == literal)
    }

    @Test("Numbers with 60,000 digits or zeros neither trap nor take long", .shows("D5"))
    func huge() throws {
        for literal in [
            String(repeating: "9", count: 60_000), "1" + String(repeating: "0", count: 60_000),
            "0." + String(repeating: "0", count: 60_000) + "1", "1e" + String(repeating: "9", count: 60_000),
            "1." + String(repeating: "0", count: 60_000),
        ] {
            let number = try #require(JSONNumber(literal: literal))
            #expect(number.integer == (literal.hasPrefix("1.") ? 1 : nil))
            #expect(number.double.map(\.isFinite) ?? true)
        }
    }

    @Test(
        "Rejects texts that aren't JSON numbers",
        arguments: ["", "-", "+1", "01", "1.", ".1", "1e", "0x1", "NaN", " 1", "1 ", "١"]
    )
    func noNumber(text: String) {
        #expect(JSONNumber(literal: text) == nil)
    }

    @Test(
        "Doubles are written with the fewest digits, integral ones without a fraction",
        arguments: [
            (1, "1"), (1_700_000_000, "1700000000"), (1_700_000_000.25, "1700000000.25"), (0.1, "0.1"), (-0.0, "-0.0"),
            (0, "0"), (1e20, "1e+20"), (.leastNonzeroMagnitude, "5e-324"), (9_007_199_254_740_992, "9007199254740992"),
            (.greatestFiniteMagnitude, "1.7976931348623157e+308"),
        ] as [(Double, String)]
    )
    func doubles(value: Double, literal: String) throws {
        let number = try #require(JSONNumber(value))
        #expect(number.literal == literal)
        #expect(number.double == value)
        #expect(JSONNumber(literal: literal) == number)
    }

    @Test("Infinity and not-a-number don't make a number", arguments: [Double.infinity, -.infinity, .nan])
    func notFinite(value: Double) {
        #expect(JSONNumber(value) == nil)
    }

    @Test("Integers of any width are exact")
    func integers() {
        #expect(JSONNumber(UInt64.max).literal == "18446744073709551615")
        #expect(JSONNumber(Int128.min).literal == "-170141183460469231731687303715884105728")
        #expect(JSONNumber(UInt64.max).integer == nil)
        let literal: JSONNumber = 5
        #expect(literal.integer == 5)
    }
}
