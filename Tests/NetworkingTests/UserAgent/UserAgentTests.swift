import Foundation
import Testing

@testable import Networking

@Suite("UserAgent")
struct UserAgentTests {
    @Test("Has the documented format")
    func format() {
        let agent = UserAgent(
            applicationName: "ID Check",
            applicationVersion: "1.18.0",
            deviceModel: "iPhone12,8",
            system: .init(name: "iOS", version: "16.5.1"),
            network: .init(name: "CFNetwork", version: "1408.0.4"),
            kernel: .init(name: "Darwin", version: "22.5.0")
        )
        #expect(agent.description == "ID_Check/1.18.0 iPhone12,8 iOS/16.5.1 CFNetwork/1408.0.4 Darwin/22.5.0")
    }

    @Test("Falls back to 1.0.0 for an invalid version", arguments: ["", "1.2", "1.2.3-beta", "latest"])
    func versionFallback(_ version: String) {
        #expect(UserAgent(applicationName: "a", applicationVersion: version).application.description == "a/1.0.0")
    }

    @Test("Uses fallbacks for missing values")
    func missing() {
        #expect(
            UserAgent(sources: .init()).description
                == "Unknown_name/1.0.0 Unknown Unknown/Unknown Unknown/Unknown Unknown/1.0.0"
        )
        var sources = UserAgent.Sources()
        (sources.networkName, sources.kernelName, sources.systemName) = ("CFNetwork", "Darwin", "iOS")
        #expect(
            UserAgent(sources: sources).description
                == "Unknown_name/1.0.0 Unknown iOS/Unknown CFNetwork/Unknown Darwin/1.0.0"
        )
        #expect(UserAgent.Sources.system(osRelease: "") == ("Linux", nil))
        #expect(UserAgent(applicationName: "", deviceModel: "").description.hasPrefix("Unknown_name/1.0.0 Unknown "))
    }

    @Test("Parses the kernel's release and the os-release file")
    func machine() {
        var sources = UserAgent.Sources()
        (sources.kernelName, sources.kernelRelease) = ("Linux", "6.18.44-fc-v669")
        #expect(UserAgent(sources: sources).kernel.description == "Linux/6.18.44")
        sources.kernelRelease = "6.1"
        #expect(UserAgent(sources: sources).kernel.description == "Linux/1.0.0")
        sources.networkVersion = "1408.0.4 beta"
        #expect(UserAgent(sources: sources).network.description == "Unknown/1408.0.4_beta")
        let release =
            "# comment\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_ID=\"12\"\n\nbroken\n"
        #expect(UserAgent.Sources.system(osRelease: release) == ("Debian", "12"))
        #expect(UserAgent.Sources.system(osRelease: "ID='alpine'\r\nVERSION_ID=3.20") == ("Alpine", "3.20"))
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
            system: .init(name: "o s", version: "1\t2")
        )
        #expect(agent.description.hasPrefix("a__X-Evil__1___") || agent.description.hasPrefix("a_X-Evil__1____"))
        #expect(agent.description.split(separator: " ").count == 5)
        #expect(HTTPSyntax.isFieldValue(agent.description))
        #expect(agent.system.description == "o_s/1_2")
    }
}
