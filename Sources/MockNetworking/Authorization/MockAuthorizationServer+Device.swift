extension MockAuthorizationServer {
    /// Lets a user grant what a device has asked for.
    ///
    /// - Parameters:
    ///   - userCode: The code that the device has shown.
    ///   - subject: Who the user is.
    /// - Returns: Whether a device waits with that code.
    @discardableResult
    public func approveDevice(userCode: String, subject: String = "ada") -> Bool {
        handlers.devices.decide(userCode, subject: subject)
    }

    /// Lets a user refuse what a device has asked for.
    ///
    /// - Parameter userCode: The code that the device has shown.
    /// - Returns: Whether a device waits with that code.
    @discardableResult
    public func denyDevice(userCode: String) -> Bool {
        handlers.devices.decide(userCode, subject: nil)
    }
}
