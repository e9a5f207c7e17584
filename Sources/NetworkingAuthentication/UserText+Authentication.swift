import NetworkingCore

extension UserText {
    /// The texts of this module's errors.
    static let authentication = [damagedSession, unusableSession]

    static let damagedSession = UserText(
        key: "session.damaged",
        description: "The saved sign-in could not be read.",
        reason: "The file of the sign-in is damaged.",
        suggestion: "Sign in again."
    )
    static let unusableSession = UserText(
        key: "session.unusable",
        description: "The sign-in could not be read or saved.",
        reason: "The saved sign-in is protected, or there is not enough free space.",
        suggestion: "Check the free space on this device and try again."
    )
}
