import Foundation
import Networking
import Testing

@Suite("Version")
struct VersionTests {
    @Test("Parses three numbers")
    func reading() throws {
        let version = try #require(Version(string: "1.2.3"))
        #expect((version.major, version.minor, version.increment) == (1, 2, 3))
        #expect(version.description == "1.2.3")
        #expect(Version(string: "1.18.0") == Version(1, 18, 0))
        #expect(Version.one == Version(1, 0, 0))
    }

    @Test(
        "Rejects anything but three plain numbers",
        arguments: [
            "", "1", "1.2", "1.2.3.4", "1..3", ".1.2", "1.2.3.", "1.2.beta", "1.2.beta.3", "1.2.3-beta", "1.2.3 ",
            " 1.2.3",
            "one.two.three", "+1.2.3", "-1.2.3", "01.2.3", "1.2.٣", "99999999999999999999.0.0",
        ]
    )
    func refusing(_ text: String) {
        #expect(Version(string: text) == nil)
    }

    @Test(
        "The lenient initializer drops parts that aren't numbers",
        arguments: [
            ("1.2.3", Version(1, 2, 3)), ("1..2.3", Version(1, 2, 3)), ("1.2.3.", Version(1, 2, 3)),
            ("01.2.3", Version(1, 2, 3)), ("1.2.beta.3", Version(1, 2, 3)), ("-1.2.3.4", Version(2, 3, 4)),
        ]
    )
    func lenient(_ text: String, _ version: Version) {
        #expect(Version(lenient: text) == version)
    }

    @Test(
        "The lenient initializer rejects texts without exactly three numbers",
        arguments: [
            "", "1.2", "1.2.3.4", "1.2.3-beta", "one.two.three", "1.2.3 ", "+1.2.3", "99999999999999999999.1.2",
        ]
    )
    func lenientRefusing(_ text: String) {
        #expect(Version(lenient: text) == nil)
    }

    @Test("Decodes from a string and encodes to one")
    func coding() throws {
        #expect(try JSONDecoder().decode(Version.self, from: Data(#""1.2.3""#.utf8)) == Version(1, 2, 3))
        #expect(try String(decoding: JSONEncoder().encode(Version(1, 2, 3)), as: UTF8.self) == #""1.2.3""#)
    }

    @Test("Throws dataCorrupted for an invalid version")
    func decodingGarbage() {
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Version.self, from: Data(#""one.two.three""#.utf8))
        }
        guard case .dataCorrupted(let context)? = error else {
            Issue.record("expected dataCorrupted, not \(String(describing: error))")
            return
        }
        #expect(context.debugDescription.hasPrefix("Incorrect Version Format"))
    }

    @Test("Compares the first, then the second, then the third number")
    func ordering() {
        #expect(Version(1, 0, 0) < Version(2, 0, 0))
        #expect(Version(1, 0, 0) < Version(1, 1, 0))
        #expect(Version(1, 0, 0) < Version(1, 0, 1))
        #expect(!(Version(2, 0, 0) < Version(1, 9, 9)))
        #expect(Set([Version(1, 0, 0), Version.one]).count == 1)
    }
}
