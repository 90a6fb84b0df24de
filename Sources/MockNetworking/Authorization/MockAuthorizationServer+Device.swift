extension MockAuthorizationServer {
    /// Approves a device's request on behalf of a user.
    ///
    /// - Parameters:
    ///   - userCode: The code that the device displayed.
    ///   - subject: The user's identifier. The default is `ada`.
    /// - Returns: Whether a device with this code is waiting.
    @discardableResult
    public func approveDevice(userCode: String, subject: String = "ada") -> Bool {
        handlers.devices.decision(userCode, subject: subject) != nil
    }

    /// Denies a device's request on behalf of a user.
    ///
    /// - Parameter userCode: The code that the device displayed.
    /// - Returns: Whether a device with this code is waiting.
    @discardableResult
    public func denyDevice(userCode: String) -> Bool {
        handlers.devices.decision(userCode, subject: nil) != nil
    }
}
