import Foundation
import TestSupport
import Testing

@testable import Networking

@Suite("UserAgent", .computing)
struct UserAgentTests {
    @Test("Has the documented format", .shows("3.21"))
    func format() {
        let agent = UserAgent(
            applicationName: "ID Check",
            applicationVersion: "1.18.0",
            deviceModel: "iPhone12,8",
            system: "iOS/16.5.1",
            network: "CFNetwork/1408.0.4",
            kernel: "Darwin/22.5.0"
        )
        #expect(agent.description == "ID_Check/1.18.0 iPhone12,8 iOS/16.5.1 CFNetwork/1408.0.4 Darwin/22.5.0")
    }

    @Test("Falls back to 1.0.0 for an invalid version", .shows("3.21"), arguments: ["", "1.2", "1.2.3-beta", "latest"])
    func versionFallback(_ version: String) {
        #expect(UserAgent(applicationName: "a", applicationVersion: version).application.description == "a/1.0.0")
    }

    @Test("Uses fallbacks for missing values", .shows("3.20"))
    func missing() {
        var sources = UserAgent.Sources()
        (sources.networkName, sources.kernelName, sources.systemName) = ("CFNetwork", "Darwin", "iOS")
        for (sources, text) in [
            (UserAgent.Sources(), "Unknown_name/1.0.0 Unknown Unknown/Unknown Unknown/Unknown Unknown/1.0.0"),
            (sources, "Unknown_name/1.0.0 Unknown iOS/Unknown CFNetwork/Unknown Darwin/1.0.0"),
        ] {
            #expect(UserAgent(sources: sources).description == text)
        }
        #expect(UserAgent(applicationName: "", deviceModel: "").description.hasPrefix("Unknown_name/1.0.0 Unknown "))
    }

    @Test(
        "Parses the os-release file",
        arguments: [
            ("", "Linux", nil), ("ID='alpine'\r\nVERSION_ID=3.20", "Alpine", "3.20"),
            (
                "# comment\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_ID=\"12\"\n\nbroken\n",
                "Debian", "12"
            ),
        ] as [(String, String, String?)]
    )
    func system(_ release: String, _ name: String, _ version: String?) {
        #expect(UserAgent.Sources.system(osRelease: release) == (name, version))
    }

    @Test("Parses the kernel's release", .shows("3.19b"))
    func machine() {
        var sources = UserAgent.Sources()
        sources.networkVersion = "1408.0.4 beta"
        sources.kernelName = "Linux"
        for (release, kernel) in [
            ("6.18.44-fc-v669", "Linux/6.18.44"), ("5.15.167.4-microsoft-standard-WSL2", "Linux/5.15.167"),
            ("4.18.0.x86_64", "Linux/4.18.0"), ("6.1", "Linux/1.0.0"),
        ] {
            sources.kernelRelease = release
            #expect(UserAgent(sources: sources).kernel.description == kernel)
        }
        #expect(UserAgent(sources: sources).network.description == "Unknown/1408.0.4_beta")
    }

    @Test("Describes the current process")
    func process() {
        let products = UserAgent().description.split(separator: " ")
        #expect(products.count == 5)
        #expect(products[3].hasPrefix("libcurl/") && !products[3].hasSuffix("Unknown"))
        #expect(products[4].hasPrefix("Linux/"))
    }

    @Test("Replaces characters that could break the header field")
    func injection() {
        let agent = UserAgent(
            applicationName: "a\r\nX-Evil: 1/(é)",
            deviceModel: "m\n1 (x)",
            system: "o s/1\t2"
        )
        #expect(agent.description.hasPrefix("a__X-Evil__1___") || agent.description.hasPrefix("a_X-Evil__1____"))
        #expect(agent.description.split(separator: " ").count == 5)
        #expect(HTTPSyntax.isFieldValue(agent.description))
        #expect(agent.system.description == "o_s/1_2")
    }
}

@Suite("Version", .computing)
struct VersionTests {
    @Test("Parses three numbers")
    func reading() throws {
        let version = try #require(Version(string: "1.2.3"))
        #expect((version.major, version.minor, version.increment) == (1, 2, 3))
        #expect(version.description == "1.2.3")
        #expect(Version(string: "1.18.0") == Version(1, 18, 0) && Version.one == Version(1, 0, 0))
    }

    @Test(
        "Rejects anything but three plain numbers",
        .shows("3.22"),
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
        "The lenient initializer drops parts that aren't numbers, and needs exactly three numbers",
        .shows("3.22"),
        arguments: [
            ("1.2.3", Version(1, 2, 3)), ("1..2.3", Version(1, 2, 3)), ("1.2.3.", Version(1, 2, 3)),
            ("01.2.3", Version(1, 2, 3)), ("1.2.beta.3", Version(1, 2, 3)), ("-1.2.3.4", Version(2, 3, 4)),
            ("", nil), ("1.2", nil), ("1.2.3.4", nil), ("1.2.3-beta", nil), ("one.two.three", nil), ("1.2.3 ", nil),
            ("+1.2.3", nil), ("99999999999999999999.1.2", nil),
        ] as [(String, Version?)]
    )
    func lenient(_ text: String, _ version: Version?) {
        #expect(Version(lenient: text) == version)
    }

    @Test("Decodes from a string and encodes to one, and throws dataCorrupted for an invalid version", .shows("3.23"))
    func coding() throws {
        #expect(try JSONDecoder().decode(Version.self, from: Data(#""1.2.3""#.utf8)) == Version(1, 2, 3))
        #expect(try String(decoding: JSONEncoder().encode(Version(1, 2, 3)), as: UTF8.self) == #""1.2.3""#)
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Version.self, from: Data(#""one.two.three""#.utf8))
        }
        guard case .dataCorrupted(let context)? = error else {
            Issue.record("expected dataCorrupted, not \(String(describing: error))")
            return
        }
        #expect(context.debugDescription.hasPrefix("Incorrect Version Format"))
    }

    @Test("Compares the first, then the second, then the third number", .shows("3.23"))
    func ordering() {
        for larger in [Version(2, 0, 0), Version(1, 1, 0), Version(1, 0, 1)] { #expect(Version(1, 0, 0) < larger) }
        #expect(!(Version(2, 0, 0) < Version(1, 9, 9)))
        #expect(Set([Version(1, 0, 0), Version.one]).count == 1)
    }
}
