# Installs Portcullis @VERSION@ for this user, without administrator's rights:
#   irm https://github.com/@REPOSITORY@/releases/latest/download/install.ps1 | iex
# PORTCULLIS_INSTALL names another directory, PORTCULLIS_DOWNLOADS a mirror of the release's files.
function Install-Portcullis {
    $ErrorActionPreference = 'Stop'
    $ProgressPreference = 'SilentlyContinue' # a progress bar makes Invoke-WebRequest slow

    $processor = [System.Runtime.InteropServices.RuntimeInformation]::OSArchitecture.ToString()
    $target = switch ($processor) {
        'X64' { 'x86_64-pc-windows-msvc' }
        'Arm64' { 'aarch64-pc-windows-msvc' }
        default { throw "There is no program for the processor $processor. With Node: npx -y @NPM_PACKAGE@" }
    }
    $expected = @{
        # @SHA256_BY_TARGET@
    }[$target]
    $directory = if ($env:PORTCULLIS_INSTALL) { $env:PORTCULLIS_INSTALL } else { Join-Path $env:LOCALAPPDATA 'Portcullis' }
    $downloads = if ($env:PORTCULLIS_DOWNLOADS) { $env:PORTCULLIS_DOWNLOADS } else { 'https://github.com/@REPOSITORY@/releases/download/v@VERSION@' }
    $archive = "portcullis-$target.zip"

    New-Item -ItemType Directory -Force -Path $directory | Out-Null
    $work = Join-Path $directory ('.portcullis-' + [System.IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory -Path $work | Out-Null
    try {
        Write-Output "Downloading Portcullis @VERSION@ for $target"
        $file = Join-Path $work $archive
        Invoke-WebRequest -UseBasicParsing -TimeoutSec 600 -Uri "$downloads/$archive" -OutFile $file
        $found = (Get-FileHash -Algorithm SHA256 -Path $file).Hash.ToLowerInvariant()
        if ($found -ne $expected) {
            throw "The download is not the file that was published (SHA-256 $found, not $expected). Nothing was installed; try again."
        }
        Expand-Archive -Path $file -DestinationPath $work
        $program = Join-Path $work 'portcullis.exe'
        Unblock-File -Path $program
        $version = & $program --version
        if ($LASTEXITCODE -ne 0) { throw 'The program does not run on this machine. Nothing was installed.' }
        Move-Item -Force -Path $program -Destination (Join-Path $directory 'portcullis.exe')
    } finally {
        Remove-Item -Recurse -Force -Path $work
    }

    Write-Output "Installed $version in $directory"
    $path = [Environment]::GetEnvironmentVariable('Path', 'User')
    if (";$path;" -notlike "*;$directory;*") {
        [Environment]::SetEnvironmentVariable('Path', "$path;$directory".TrimStart(';'), 'User')
        $env:Path = "$env:Path;$directory"
    }
    Write-Output 'Start it: portcullis serve'
}

Install-Portcullis
