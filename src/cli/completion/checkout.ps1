# PowerShell completion for checkout. In a session: checkout completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName checkout -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @(
    $commandAst.CommandElements |
      Select-Object -Skip 1 |
      Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
      ForEach-Object { if ($null -ne $_.Value) { [string]$_.Value } else { $_.Extent.Text } }
  )
  # An empty argument does not reach a program in every PowerShell, so --next stands for it.
  $option = if ($wordToComplete -eq '') { @('--next') } else { @() }
  foreach ($line in @(& checkout complete @option '--' @words 2>$null)) {
    $value, $description = $line -split "`t", 2
    if ($null -eq $description) { continue }
    $shown = if ($description -eq '') { $value } else { $description }
    $quoted = $value
    if ($value -notmatch '^[\w./:+-][\w./:=+-]*$') {
      $quoted = "'" + ($value -replace "(['\u2018-\u201b])", '$1$1') + "'"
    }
    [System.Management.Automation.CompletionResult]::new($quoted, $value, 'ParameterValue', $shown)
  }
}
